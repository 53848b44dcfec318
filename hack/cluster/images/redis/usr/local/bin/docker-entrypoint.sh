#!/bin/sh
set -e
# A flag or a configuration file alone is meant for the server.
if [ "${1#-}" != "$1" ] || [ "${1%.conf}" != "$1" ]; then
	set -- redis-server "$@"
fi
# Root owns nothing here: the server runs as its own user.
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
	find . \! -user redis -exec chown redis '{}' +
	exec setpriv --reuid=redis --regid=redis --clear-groups "$0" "$@"
fi
exec "$@"
