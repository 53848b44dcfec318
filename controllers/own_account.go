package controllers

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
)

// accountTimeout is how long the API server may take to say who asks.
const accountTimeout = 10 * time.Second

// OwnAccount returns the ServiceAccount that the manager runs as, in the namespace of its pods. It asks the API
// server, so no installation can forget to pass it on. An empty name means that the manager does not run in a pod, as
// under `make run`.
func OwnAccount(ctx context.Context, config *rest.Config) (types.NamespacedName, error) {
	api, err := authenticationv1client.NewForConfig(config)
	if err != nil {
		return types.NamespacedName{}, fmt.Errorf("asking who the manager is: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, accountTimeout)
	defer cancel()
	review, err := api.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return types.NamespacedName{}, fmt.Errorf("asking who the manager is, which the ClusterRole system:basic-user allows: %w", err)
	}
	namespace, name, err := serviceaccount.SplitUsername(review.Status.UserInfo.Username)
	if err != nil {
		return types.NamespacedName{}, nil // a user who is no ServiceAccount
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}
