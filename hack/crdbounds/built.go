package main

import (
	"fmt"
	"maps"
	"strings"
)

// builtPrefix starts the rule of a marker whose rule consists of parts that are alike. What follows it names a rule of built.
const builtPrefix = "built: "

// built are the rules that such markers name.
var built = map[string]map[string]any{
	"redis.auth":            anyOf("!has(self.spec)", notOwnSecret("auth", redisSecrets)),
	"redis.tls":             anyOf("!has(self.spec)", notOwnSecret("tls", redisSecrets)),
	"redis.config":          supportedKeys(redisConfigKeys),
	"redis.bufferLimits":    bufferLimits(),
	"memcached.limit":       enoughMemory(),
	"memcached.maxItemSize": halfOfMemory(),
	"etcdcluster.tls":       anyOf(notOwnSecret("tls", etcdClusterSecrets)),
	"etcdcluster.auth":      anyOf(notOwnSecret("auth", etcdClusterSecrets)),
	"easyservice.readiness": probeNamesAction("readiness"),
	"easyservice.liveness":  probeNamesAction("liveness"),
	"easyservice.startup":   probeNamesAction("startup"),
	"activity.run":          unchanged(activityFields[0]),
	"activity.process":      unchanged(activityFields[1]),
	"activity.pod":          unchanged(activityFields[2]),
	"activity.scheduling":   unchanged(activityFields[3]),
}

// redisSecrets and etcdClusterSecrets are the Secrets that the operator writes, by the end of their names.
var (
	redisSecrets       = []string{"auth", "system", "files", "certificates"}
	etcdClusterSecrets = []string{"authority", "peers", "certificates", "binding", "system", "tokens", "backup"}
)

// redisConfigKeys are the directives of redis.conf that a Redis may set.
var redisConfigKeys = []string{
	"maxmemory", "maxmemory-policy", "maxmemory-samples", "maxmemory-eviction-tenacity", "maxclients", "timeout",
	"databases", "notify-keyspace-events", "slowlog-log-slower-than", "slowlog-max-len", "latency-monitor-threshold",
	"acllog-max-len", "lazyfree-lazy-eviction", "lazyfree-lazy-expire", "lazyfree-lazy-server-del",
	"lazyfree-lazy-user-del", "lazyfree-lazy-user-flush", "hash-max-listpack-entries", "hash-max-listpack-value",
	"list-max-listpack-size", "list-compress-depth", "set-max-intset-entries", "set-max-listpack-entries",
	"set-max-listpack-value", "zset-max-listpack-entries", "zset-max-listpack-value", "hll-sparse-max-bytes",
	"stream-node-max-bytes", "stream-node-max-entries", "activerehashing", "activedefrag", "active-expire-effort", "hz",
	"dynamic-hz", "io-threads", "client-output-buffer-limit", "client-query-buffer-limit", "proto-max-bulk-len",
	"busy-reply-threshold", "tracking-table-max-keys", "lfu-log-factor", "lfu-decay-time",
	"auto-aof-rewrite-percentage", "auto-aof-rewrite-min-size", "rdbcompression",
}

// supportedKeys returns the rule that a map has no other keys.
func supportedKeys(keys []string) map[string]any {
	const others = "not supported; keys are in lower case, and none that touches replication, persistence, users or files"
	supported := "['" + strings.Join(keys, "','") + "']"
	return map[string]any{
		"rule":              "self.all(k, k in " + supported + ")",
		"message":           "config: a key is " + others,
		"messageExpression": "'config: %s is " + others + "'.format([self.filter(k, !(k in " + supported + "))])",
	}
}

// bufferLimits returns the rule that a client-output-buffer-limit has the form that Redis reads.
func bufferLimits() map[string]any {
	const limit = "(normal|pubsub) [0-9]+[kmgb]* [0-9]+[kmgb]* [0-9]+"
	return anyOf(
		"!('client-output-buffer-limit' in self)",
		"self['client-output-buffer-limit'].matches('^"+limit+"( "+limit+")?$')",
	)
}

// replaceBuilt puts the built rules into the place of the markers' rules.
func replaceBuilt(rules []any) ([]any, error) {
	for _, item := range rules {
		marker := item.(map[string]any)
		text, _ := marker["rule"].(string)
		name, found := strings.CutPrefix(text, builtPrefix)
		if !found {
			continue
		}
		rule, ok := built[name]
		if !ok {
			return nil, fmt.Errorf("a marker names the rule %q, which is not built", name)
		}
		maps.Copy(marker, rule)
	}
	return rules, nil
}
