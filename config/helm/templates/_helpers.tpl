{{/* The labels of config/manager. Helm's usual ones are not added: a Deployment's selector cannot change when Helm adopts it. */}}
{{- define "mainstay-operator.labels" -}}
app.kubernetes.io/name: mainstay-operator
control-plane: controller-manager
{{- end }}

{{- define "mainstay-operator.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The objects of `helm test` are in a namespace that the operator manages. */}}
{{- define "mainstay-operator.testNamespace" -}}
{{ first .Values.watchNamespaces | default .Release.Namespace }}
{{- end }}

{{/* What the schema cannot refuse in plain words. */}}
{{- define "mainstay-operator.validate" -}}
{{- if eq .Values.scope "Namespace" -}}
{{- if .Values.watchNamespaces -}}
{{- fail "watchNamespaces must be empty with scope Namespace: the operator then manages the release's namespace alone" -}}
{{- end -}}
{{- if .Values.serviceMonitor.enabled -}}
{{- fail "serviceMonitor.enabled must be false with scope Namespace: metrics are then not served to the network" -}}
{{- end -}}
{{- else if and .Values.resourceQuota.enabled .Values.priorityClassName (hasPrefix "kube-" .Release.Namespace) -}}
{{- fail (printf "resourceQuota.enabled must be false in the namespace %s: the quota would count all its pods of the class %s, also those of Kubernetes. Install into another namespace, or set resourceQuota.enabled=false" .Release.Namespace .Values.priorityClassName) -}}
{{- end -}}
{{- end }}
