package memcached

import (
	"strings"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestWhoIsLetIn(t *testing.T) {
	const (
		namespace = `{"podSelector":{}}`
		operator  = `{"podSelector":{"matchLabels":{"app.kubernetes.io/name":"mainstay-operator","control-plane":"controller-manager"}},` +
			`"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"operators"}}}`
		front = `{"podSelector":{"matchLabels":{"app.kubernetes.io/instance":"a","app.kubernetes.io/name":"memcached-proxy"}}}`
	)
	for _, c := range []struct {
		reason string
		change func(*cachev1alpha1.MemcachedSpec)
		want   []string // the ports and peers of each policy
	}{
		{"in the clear", func(*cachev1alpha1.MemcachedSpec) {}, []string{`a "from":[` + namespace + `],"ports":[{"port":11211}]`}},
		{"with every port", func(s *cachev1alpha1.MemcachedSpec) {
			s.TLS = &cachev1alpha1.MemcachedTLS{Mode: cachev1alpha1.MemcachedTLSOptional, PlaintextPort: 11212}
			s.Metrics = &cachev1alpha1.MemcachedMetrics{Enabled: true}
		}, []string{`a "from":[` + operator + `,` + namespace + `],"ports":[{"port":11211},{"port":11212},{"port":9150}]`}},
		{"behind the proxy", func(s *cachev1alpha1.MemcachedSpec) { s.Proxy = &cachev1alpha1.MemcachedProxy{Enabled: true} }, []string{
			`a "from":[` + front + `,` + namespace + `],"ports":[{"port":11211}]`,
			`a-proxy "from":[` + namespace + `],"ports":[{"port":11211}]`,
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m := newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.NetworkPolicy = &commonv1.NetworkPolicy{}; c.change(s) })
			found := networkPolicies(m, "operators")
			if len(found) != len(c.want) {
				t.Fatalf("%d policies", len(found))
			}
			for i, policy := range found {
				name, inside, _ := strings.Cut(c.want[i], " ")
				// The order of the fields is the encoder's.
				text := encode(t, policy)
				for part := range strings.SplitSeq(inside, `,"ports"`) {
					if part = strings.TrimPrefix(part, ":"); *policy.GetName() != name || !strings.Contains(text, strings.Trim(part, " ")) {
						t.Errorf("no %s in %s", part, text)
					}
				}
			}
		})
	}
}
