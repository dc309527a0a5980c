#!/bin/sh
# Least rights in Kafka: one user for each part, none of them may do more than it does.
# usage: BOOTSTRAP=kafka-1:9093 CONFIG=admin.properties PREFIX=inflight sh kafka-acls.sh
set -eu
: "${BOOTSTRAP:?host:port of a broker}" "${CONFIG:?properties file of an administrator}"
PREFIX=${PREFIX:-inflight}
KAFKA_ACLS=${KAFKA_ACLS:-kafka-acls.sh}

acl() { "$KAFKA_ACLS" --bootstrap-server "$BOOTSTRAP" --command-config "$CONFIG" --add "$@"; }
writes() { # user topic...
    user=$1; shift
    for topic; do acl --allow-principal "User:$user" --operation Write --operation Describe --topic "$PREFIX.$topic"; done
}
reads() {
    user=$1; shift
    for topic; do acl --allow-principal "User:$user" --operation Read --operation Describe --topic "$PREFIX.$topic"; done
}

writes inflight-probe   samples
writes inflight-collect router broker
reads  inflight-stream  samples
writes inflight-stream  windows live dead-letters
reads  inflight-export  windows live events router broker
writes inflight-event   events
