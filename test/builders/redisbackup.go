package builders

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// RedisBackupBuilder makes a RedisBackup.
type RedisBackupBuilder struct{ made cachev1alpha1.RedisBackup }

// RedisBackup starts one of that Redis, which is made once, now.
func RedisBackup(name, redis string, store commonv1.BackupStore) *RedisBackupBuilder {
	b := cachev1alpha1.RedisBackup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: cachev1alpha1.RedisBackupSpec{RedisName: redis}}
	b.Spec.Store = store
	return &RedisBackupBuilder{b}
}

// In puts it into a namespace.
func (r *RedisBackupBuilder) In(namespace string) *RedisBackupBuilder {
	r.made.Namespace = namespace
	return r
}

// With changes anything else.
func (r *RedisBackupBuilder) With(change func(*cachev1alpha1.RedisBackupSpec)) *RedisBackupBuilder {
	change(&r.made.Spec)
	return r
}

// Build gives the object.
func (r *RedisBackupBuilder) Build() *cachev1alpha1.RedisBackup { return r.made.DeepCopy() }

// Bucket is a store on S3, whose login is in Secret login.
func Bucket(name string) commonv1.BackupStore {
	return commonv1.BackupStore{S3: &commonv1.S3Store{Bucket: name, SecretName: "login"}}
}

// Volume is a store on that claim.
func Volume(claim string) commonv1.BackupStore {
	return commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: claim}}
}
