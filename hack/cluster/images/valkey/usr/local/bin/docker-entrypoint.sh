#!/bin/sh
set -e
# A flag or a configuration file alone is meant for the server.
if [ "${1#-}" != "$1" ] || [ "${1%.conf}" != "$1" ]; then
	set -- valkey-server "$@"
fi
# Root owns nothing here: the server runs as its own user.
if [ "$1" = valkey-server ] && [ "$(id -u)" = 0 ]; then
	find . \! -user valkey -exec chown valkey '{}' +
	exec setpriv --reuid=valkey --regid=valkey --clear-groups "$0" "$@"
fi
exec "$@"
