module github.com/mainstay-operator/mainstay-operator/hack/cluster

go 1.26.3

replace github.com/mainstay-operator/mainstay-operator => ../..

require github.com/mainstay-operator/mainstay-operator v0.0.0-00010101000000-000000000000
