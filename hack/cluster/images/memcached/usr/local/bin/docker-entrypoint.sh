#!/bin/sh
set -e
# A flag alone is meant for the server.
if [ "${1#-}" != "$1" ]; then
	set -- memcached "$@"
fi
exec "$@"
