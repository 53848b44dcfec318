package etcd

import (
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/tests/v3/robustness/client"
	"go.etcd.io/etcd/tests/v3/robustness/identity"
	"go.etcd.io/etcd/tests/v3/robustness/model"
	"go.etcd.io/etcd/tests/v3/robustness/report"
)

// The judge is of use only if it finds what is wrong. Here a real etcd serves the suite's own clients, and what they saw is
// then made wrong in one place.
func TestTheJudgeFindsPlantedViolations(t *testing.T) {
	dir, reports, has := correctHistory(t)
	if all, missing := lost(reports, []map[write]bool{has}); all < 50 || missing != 0 {
		t.Errorf("of %d acknowledged writes %d are lost", all, missing)
	}
	wrong := clone(reports)
	plantLostWrite(t, wrong)
	if _, missing := lost(wrong, []map[write]bool{has}); missing != 1 {
		t.Errorf("%d writes are counted as lost, not the one that was planted", missing)
	}
	for name, c := range map[string]struct {
		plant func(t *testing.T, reports []report.ClientReport)
		dirs  []string
		want  string // in the error; empty when there must be none
	}{
		"a correct history":              {func(*testing.T, []report.ClientReport) {}, []string{dir}, ""},
		"an acknowledged write is lost":  {plantLostWrite, []string{dir}, "linearization"},
		"a read is stale":                {plantStaleRead, []string{dir}, "linearization"},
		"a watch leaves an event out":    {plantMissingEvent, []string{dir}, "watch"},
		"a former revision reads wrong":  {plantWrongFormerRead, []string{dir}, "serializable"},
		"the first read was not empty":   {plantNotEmpty, []string{dir}, "assumptions"},
		"there is no write-ahead log":    {func(*testing.T, []report.ClientReport) {}, nil, "no data dirs"},
		"a write-ahead log is not there": {func(*testing.T, []report.ClientReport) {}, []string{dir, t.TempDir()}, "reading the write-ahead log"},
		"nothing was watched":            {func(_ *testing.T, r []report.ClientReport) { dropWatches(r) }, []string{dir}, "0 watched events"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := clone(reports)
			c.plant(t, wrong)
			err := judge(t, wrong, c.dirs)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("the judge says %v, want %q", err, c.want)
			}
		})
	}
}

// correctHistory has a writer, mixed clients and a watch use an etcd in this process for a while. It returns the data directory,
// what the clients saw, and all that was written.
func correctHistory(t *testing.T) (dir string, reports []report.ClientReport, has map[write]bool) {
	t.Helper()
	address, dir, stop := startEtcd(t)
	endpoints := []string{"http://" + address}
	ids := identity.NewIDProvider()
	clientSet := client.NewSet(ids, time.Now())
	clients, err := newClients(clientSet, endpoints, endpoints)
	if err != nil {
		t.Fatal(err)
	}
	if err := clients.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := clients.all.continues(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	upTo, err := clients.end(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reader, err := clientSet.NewClient(endpoints)
	if err != nil {
		t.Fatal(err)
	}
	if has, err = allWrites(t.Context(), reader, upTo); err != nil {
		t.Fatal(err)
	}
	reports = clientSet.Reports()
	stop()
	return dir, reports, has
}

// startEtcd starts an etcd of one member on loopback.
func startEtcd(t *testing.T) (address, dir string, stop func()) {
	t.Helper()
	dir = t.TempDir()
	config := embed.NewConfig()
	config.Dir, config.LogLevel, config.LogOutputs = dir, "panic", []string{"stderr"}
	anyPort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.ListenPeerUrls = anyPort, anyPort
	server, err := embed.StartEtcd(config)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(server.Close)
	t.Cleanup(stop)
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		t.Fatal(err)
	case <-time.After(time.Minute):
		t.Fatal("etcd does not serve")
	}
	return server.Clients[0].Addr().String(), dir, stop
}

// clone copies what plants change.
func clone(reports []report.ClientReport) []report.ClientReport {
	copied := slices.Clone(reports)
	for i := range copied {
		copied[i].KeyValue = slices.Clone(copied[i].KeyValue)
		copied[i].Watch = slices.Clone(copied[i].Watch)
		for j := range copied[i].Watch {
			w := &copied[i].Watch[j]
			w.Responses = slices.Clone(w.Responses)
		}
	}
	return copied
}

// find is the place of the last request that is as described.
func find(t *testing.T, reports []report.ClientReport, is func(model.EtcdRequest, model.MaybeEtcdResponse) bool) (*report.ClientReport,
	int) {
	t.Helper()
	for i := range reports {
		for j, op := range slices.Backward(reports[i].KeyValue) {
			if is(op.Input.(model.EtcdRequest), op.Output.(model.MaybeEtcdResponse)) {
				return &reports[i], j
			}
		}
	}
	t.Fatal("there is no such request")
	return nil, 0
}

func isPut(request model.EtcdRequest, response model.MaybeEtcdResponse) bool {
	return request.Type == model.Txn && response.Error == "" && len(request.Txn.Conditions) == 0 &&
		request.Txn.OperationsOnSuccess[0].Put.LeaseID == 0
}

func isList(request model.EtcdRequest, response model.MaybeEtcdResponse) bool {
	return request.Type == model.Range && request.Range.Revision == 0 && response.Error == "" && len(response.Range.KVs) > 2
}

// afterwards are times after all requests.
func afterwards(reports []report.ClientReport) (from, to int64) {
	for _, r := range reports {
		for _, op := range r.KeyValue {
			from = max(from, op.Return)
		}
	}
	return from + 1000, from + 2000
}

// plantLostWrite has a client get the reply, after all others were done, that a write has happened, of which the next read knows nothing.
func plantLostWrite(t *testing.T, reports []report.ClientReport) {
	from, to := afterwards(reports)
	r, i := find(t, reports, isPut)
	put, read := r.KeyValue[i], lastRead(t, reports)
	request, response := put.Input.(model.EtcdRequest), put.Output.(model.MaybeEtcdResponse)
	key := request.Txn.OperationsOnSuccess[0].Put.Key
	request.Txn = &model.TxnRequest{OperationsOnSuccess: []model.EtcdOperation{
		{Type: model.PutOperation, Put: model.PutOptions{Key: key, Value: model.ToValueOrHash("lost")}}}}
	response.Revision = read.Output.(model.MaybeEtcdResponse).Revision + 1
	r.KeyValue = append(r.KeyValue,
		porcupine.Operation{ClientId: put.ClientId, Input: request, Output: response, Call: from, Return: to},
		porcupine.Operation{ClientId: put.ClientId, Input: read.Input, Output: read.Output, Call: to + 1000, Return: to + 2000})
}

// lastRead is the read of all keys that ends a history.
func lastRead(t *testing.T, reports []report.ClientReport) porcupine.Operation {
	t.Helper()
	var last porcupine.Operation
	for _, r := range reports {
		for _, op := range r.KeyValue {
			if isList(op.Input.(model.EtcdRequest), op.Output.(model.MaybeEtcdResponse)) && op.Return > last.Return {
				last = op
			}
		}
	}
	if last.Input == nil {
		t.Fatal("nothing was read")
	}
	return last
}

// plantStaleRead has a client read, after all others were done, what was there before the last writes.
func plantStaleRead(t *testing.T, reports []report.ClientReport) {
	from, to := afterwards(reports)
	last := lastRead(t, reports).Output.(model.MaybeEtcdResponse).Revision
	r, i := find(t, reports, func(request model.EtcdRequest, response model.MaybeEtcdResponse) bool {
		return isList(request, response) && response.Revision < last
	})
	op := r.KeyValue[i]
	r.KeyValue = append(r.KeyValue, porcupine.Operation{ClientId: op.ClientId, Input: op.Input, Output: op.Output, Call: from, Return: to})
}

func plantMissingEvent(t *testing.T, reports []report.ClientReport) {
	for i := range reports {
		for j := range reports[i].Watch {
			if w := &reports[i].Watch[j]; len(w.Responses) > 10 {
				w.Responses = slices.Delete(w.Responses, 5, 6)
				return
			}
		}
	}
	t.Fatal("no watch has seen enough")
}

func plantWrongFormerRead(t *testing.T, reports []report.ClientReport) {
	r, i := find(t, reports, func(request model.EtcdRequest, response model.MaybeEtcdResponse) bool {
		return request.Type == model.Range && request.Range.Revision != 0 && response.Error == "" && len(response.Range.KVs) > 1
	})
	response := r.KeyValue[i].Output.(model.MaybeEtcdResponse)
	read := *response.Range
	read.KVs = slices.Clone(read.KVs)
	read.KVs[0].Value.Value = "something else"
	response.Range = &read
	r.KeyValue[i].Output = response
}

func plantNotEmpty(_ *testing.T, reports []report.ClientReport) {
	for i := range reports {
		reports[i].KeyValue = slices.DeleteFunc(reports[i].KeyValue, func(op porcupine.Operation) bool {
			return op.Output.(model.MaybeEtcdResponse).Revision == 1
		})
	}
}

func dropWatches(reports []report.ClientReport) {
	for i := range reports {
		reports[i].Watch = nil
	}
}
