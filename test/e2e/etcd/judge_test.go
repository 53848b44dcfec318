package etcd

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/tests/v3/robustness/model"
	"go.etcd.io/etcd/tests/v3/robustness/report"
	"go.etcd.io/etcd/tests/v3/robustness/validate"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
)

// judgeLimit bounds the search for an order of all requests. It usually takes seconds.
const judgeLimit = 2 * time.Minute

// judging is held by one history at a time: etcd's judge keeps its deadline in a global variable.
var judging sync.Mutex

// judge has etcd's own model judge what the clients of one cluster saw, together with what the write-ahead logs in the
// members' data directories hold. Where etcd's judge passes because it could not look, this one returns an error: without logs
// that can be read, without a watched event, or without a read of a former revision.
func judge(t *testing.T, reports []report.ClientReport, dataDirs []string) (err error) {
	judging.Lock()
	defer judging.Unlock()
	defer func() { // of what it does not know in a log
		if r := recover(); r != nil {
			err = fmt.Errorf("the judge gave up: %v", r)
		}
	}()
	log := zaptest.NewLogger(t, zaptest.Level(zap.ErrorLevel))
	for _, dir := range dataDirs {
		if _, _, err := report.ReadWAL(log, dir); err != nil {
			return fmt.Errorf("reading the write-ahead log: %w", err)
		}
	}
	requests, err := report.PersistedRequests(log, dataDirs)
	if err != nil {
		return fmt.Errorf("merging the write-ahead logs: %w", err)
	}
	if err := hasAll(reports, requests); err != nil {
		return err
	}
	result := validate.ValidateAndReturnVisualize(log, validate.Config{}, reports, requests, judgeLimit)
	return errors.Join(
		succeeded("assumptions", result.Assumptions), succeeded("linearization", result.Linearization.Result),
		succeeded("watch", result.Watch), succeeded("serializable reads", result.Serializable))
}

// succeeded returns an error unless the judge has looked and found nothing.
func succeeded(what string, result validate.Result) error {
	if result.Status == validate.Success {
		return nil
	}
	return fmt.Errorf("%s: %q: %s", what, result.Status, result.Message)
}

// hasAll returns an error when there is nothing that one of the four judgements could be about.
func hasAll(reports []report.ClientReport, requests []model.EtcdRequest) error {
	writes, events, former := 0, 0, 0
	for _, r := range reports {
		writes += len(acknowledged(r))
		events += r.WatchEventCount()
		for _, op := range r.KeyValue {
			if request := op.Input.(model.EtcdRequest); request.Type == model.Range && request.Range.Revision != 0 {
				former++
			}
		}
	}
	if len(requests) == 0 || writes == 0 || events == 0 || former == 0 {
		return fmt.Errorf("nothing to judge: %d requests in the logs, %d acknowledged writes, %d watched events, %d reads of a former revision",
			len(requests), writes, events, former)
	}
	return nil
}

// write is one key as it was written.
type write struct {
	key, value string
	revision   int64
}

// acknowledged are the writes of which a client got the reply that they have happened.
func acknowledged(r report.ClientReport) []write {
	var all []write
	for _, op := range r.KeyValue {
		request, response := op.Input.(model.EtcdRequest), op.Output.(model.MaybeEtcdResponse)
		if request.Type != model.Txn || response.Error != "" || response.Txn == nil {
			continue
		}
		done := request.Txn.OperationsOnSuccess
		if response.Txn.Failure {
			done = request.Txn.OperationsOnFailure
		}
		for _, o := range done {
			if o.Type == model.PutOperation {
				all = append(all, write{o.Put.Key, o.Put.Value.Value, response.Revision})
			}
		}
	}
	return all
}

// lost counts the acknowledged writes, and those of them that a member does not have. members are what each member says that
// has ever been written.
func lost(reports []report.ClientReport, members []map[write]bool) (all, missing int) {
	for _, r := range reports {
		for _, w := range acknowledged(r) {
			all++
			for _, has := range members {
				if !has[w] {
					missing++
					break
				}
			}
		}
	}
	return all, missing
}
