package easyservice

import (
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
)

func TestIngressEndpoints(t *testing.T) {
	given := func(at ...networkingv1.IngressLoadBalancerIngress) *networkingv1.Ingress {
		return &networkingv1.Ingress{Status: networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{Ingress: at}}}
	}
	for reason, c := range map[string]struct {
		chosen appv1.Ingress
		entry  *networkingv1.Ingress
		want   []string
	}{
		"a host": {appv1.Ingress{Host: "a.example.org"}, given(), []string{"http http://a.example.org/"}},
		"a host with a certificate": {appv1.Ingress{Host: "a.example.org", TLSSecret: "cert", Path: "/x", Port: 81}, given(),
			[]string{"81 https://a.example.org/x"}},
		"any host": {appv1.Ingress{},
			given(networkingv1.IngressLoadBalancerIngress{IP: "2001:db8::1"}, networkingv1.IngressLoadBalancerIngress{Hostname: "lb"}),
			[]string{"http http://[2001:db8::1]/", "http http://lb/"}},
		"any host, no address as yet": {appv1.Ingress{}, given(), nil},
		"a wildcard": {appv1.Ingress{Host: "*.example.org"}, given(networkingv1.IngressLoadBalancerIngress{IP: "10.0.0.1"}),
			nil},
		"no Ingress as yet": {appv1.Ingress{Host: "a.example.org"}, nil, nil},
	} {
		e := newEasyService("a", appv1.EasyServiceSpec{Ports: []appv1.Port{{Port: 53, Protocol: "UDP"}, {Name: "http", Port: 80}, {Port: 81}},
			Ingress: &c.chosen})
		var got []string
		for _, at := range ingressEndpoints(e, c.entry) {
			got = append(got, at.Name+" "+at.URL)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q", reason, got, c.want)
		}
	}
}
