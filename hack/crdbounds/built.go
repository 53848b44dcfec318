package main

import (
	"fmt"
	"strings"
)

// builtPrefix starts the rule of a marker that is too long to be read in one line. What follows it names a rule of built.
const builtPrefix = "built: "

// built are the rules that such markers name.
var built = map[string]map[string]any{
	"redis.config":          supportedKeys(redisConfigKeys),
	"memcached.limit":       enoughMemory(),
	"memcached.maxItemSize": halfOfMemory(),
	"etcdcluster.tls":       notOwnSecret("tls"),
	"etcdcluster.auth":      notOwnSecret("auth"),
	"easyservice.readiness": probeNamesAction("readiness"),
	"easyservice.liveness":  probeNamesAction("liveness"),
	"activity.run":          unchanged(activityFields[0]),
	"activity.process":      unchanged(activityFields[1]),
	"activity.pod":          unchanged(activityFields[2]),
	"activity.scheduling":   unchanged(activityFields[3]),
}

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

// replaceBuilt puts the built rules into the place of the markers' rules, wherever in a CRD they are.
func replaceBuilt(node any) error {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			if err := replaceBuilt(item); err != nil {
				return err
			}
		}
	case map[string]any:
		if text, ok := node["rule"].(string); ok && strings.HasPrefix(text, builtPrefix) {
			name := strings.TrimPrefix(text, builtPrefix)
			rule, ok := built[name]
			if !ok {
				return fmt.Errorf("a marker names the rule %q, which is not built", name)
			}
			for key, value := range rule {
				node[key] = value
			}
		}
		for _, value := range node {
			if err := replaceBuilt(value); err != nil {
				return err
			}
		}
	}
	return nil
}
