# Clients as shell scripts: `bash clients.sh <name>` with BASE_URL and KEY in the environment and a
# message a line on stdin: intent, to, from and text, separated by tabs. Prints lines of the intents
# file. For right clients the service's clock runs 20 times as fast, and Retry-After counts real
# seconds.
set -u
send_url="$BASE_URL/api/v1/sms/send/"

# body INTENT TO FROM TEXT [REQUEST_ID]
body() {
  if [ $# -gt 4 ]; then
    printf '{"to":"%s","from":"%s","message":"%s","request_id":"%s"}' "$2" "$3" "$4" "$5"
  else
    printf '{"to":"%s","from":"%s","message":"%s"}' "$2" "$3" "$4"
  fi
}

# report INTENT TO FROM TEXT accepted|failed
report() {
  printf '{"intent":"%s","to":"%s","from":"%s","message":"%s","reported":"%s"}\n' "$@"
}

# each COMMAND: runs it with the four fields of each message, and reports by its exit code.
each() {
  while IFS=$'\t' read -r intent to from text; do
    if "$1" "$intent" "$to" "$from" "$text" </dev/null >/dev/null 2>&1; then
      report "$intent" "$to" "$from" "$text" accepted
    else
      report "$intent" "$to" "$from" "$text" failed
    fi
  done
}

# persistently COMMAND: the same, but comes back after 80 simulated seconds until it succeeds.
persistently() {
  while IFS=$'\t' read -r intent to from text; do
    until "$1" "$intent" "$to" "$from" "$text" </dev/null >/dev/null 2>&1; do sleep 4; done
    report "$intent" "$to" "$from" "$text" accepted
  done
}

# silently COMMAND: the same, but reports only the messages that succeed.
silently() { each "$1" | grep accepted; }

post() { curl -sS -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' "$@" "$send_url"; }

status_of() { post -o /dev/null -w '%{http_code}' "$@"; }

message_id_of() { sed 's/.*"message_id":"\([^"]*\)".*/\1/'; }

got() { curl -sS -H "Authorization: Bearer $KEY" "$BASE_URL$1"; }

wget_waits_by_itself() {
  try() {
    wget -qO- --tries=3 --waitretry=1 --retry-on-http-error=429 --header="Authorization: Bearer $KEY" \
      --header='Content-Type: application/json' --post-data="$(body "$@" "id-$1")" "$send_url"
  }
  each try
}

curl_list_goes_on() {
  while IFS=$'\t' read -r intent to from text; do
    if [ "$(status_of -d "$(body "$intent" "$to" "$from" "$text" "id-$intent")")" = 429 ]; then
      report "$intent" "$to" "$from" "$text" failed
    else
      report "$intent" "$to" "$from" "$text" accepted
    fi
    sleep 2
  done
}

curl_without_id() {
  try() { post -f -d "$(body "$@")"; }
  each try
}

wget_resends() {
  try() {
    wget -qO- --tries=3 --header="Authorization: Bearer $KEY" --header='Content-Type: application/json' \
      --post-data="$(body "$@")" "$send_url"
  }
  each try
}

curl_retry_max_time() {
  try() { post -f --retry 3 --retry-max-time 1 -d "$(body "$@" "id-$1")"; }
  silently try
}

curl_without_fail() {
  try() { post -d "$(body "$@" "id-$1")"; }
  each try
}

curl_polls_fast() {
  while IFS=$'\t' read -r intent to from text; do
    id=$(post -d "$(body "$intent" "$to" "$from" "$text" "id-$intent")" | message_id_of)
    for _ in 1 2 3; do
      got "/api/v1/sms/$id/" >/dev/null
      sleep 0.2
    done
  done
}

curl_retry() {
  try() { post -f --retry 3 -d "$(body "$@" "id-$1")" | grep -q '}$'; }
  persistently try
}

curl_http_1_0() {
  try() { post -0 -f --retry 3 -d "$(body "$@" "id-$1")" | grep -q '}$'; }
  persistently try
}

wget_waits_by_header() {
  try() {
    local said
    said=$(wget -SO- --tries=1 --header="Authorization: Bearer $KEY" \
      --header='Content-Type: application/json' --post-data="$(body "$@" "id-$1")" "$send_url" 2>&1)
    local failed=$?
    local wait
    wait=$(sed -n 's/^ *retry-after: \([0-9]*\).*/\1/Ip' <<<"$said")
    [ -n "$wait" ] && sleep "$wait"
    [ "$failed" = 0 ] && grep -q '"message_id":"[^"]*".*}' <<<"$said"
  }
  persistently try
}

"$1"
