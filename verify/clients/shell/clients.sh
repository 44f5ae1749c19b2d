# Clients as shell scripts: `bash clients.sh <name>` with BASE_URL and KEY in the environment and a
# message a line on stdin: intent, to, from and text, separated by tabs. Prints lines of the intents
# file. For right clients the service's clock runs 20 times as fast, and Retry-After counts real
# seconds. The comment above each client is its row of the catalogue.
set -u
send_url="$BASE_URL/api/v1/sms/send/"

# body INTENT TO FROM TEXT [REQUEST_ID]
body() {
  printf '{"to":"%s","from":"%s","message":"%s"%s}' "$2" "$3" "$4" "${5+,\"request_id\":\"$5\"}"
}

# report INTENT TO FROM TEXT accepted|failed
report() {
  printf '{"intent":"%s","to":"%s","from":"%s","message":"%s","reported":"%s"}\n' "$@"
}

# each COMMAND: runs it with the four fields of each message, and reports by its exit code.
each() {
  while IFS=$'\t' read -r -a fields; do
    if "$1" "${fields[@]}" </dev/null >/dev/null 2>&1; then
      report "${fields[@]}" accepted
    else
      report "${fields[@]}" failed
    fi
  done
}

# persistently COMMAND: the same, but comes back after 80 simulated seconds until it succeeds.
persistently() {
  while IFS=$'\t' read -r -a fields; do
    until "$1" "${fields[@]}" </dev/null >/dev/null 2>&1; do sleep 4; done
    report "${fields[@]}" accepted
  done
}

by_curl() { curl -sS -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' "$@" "$send_url"; }

by_wget() {
  wget -O- --header="Authorization: Bearer $KEY" --header='Content-Type: application/json' "$@" "$send_url"
}

# CLIENT-1, also CLIENT-2 CLIENT-14, meets throttle: lets wget repeat 429 after its own --waitretry
wget_waits_by_itself() {
  try() { by_wget -q --tries=3 --waitretry=1 --retry-on-http-error=429 --post-data="$(body "$@" "id-$1")"; }
  each try
}

# CLIENT-5, also CLIENT-4, meets lost_response: lets wget send again what got no reply, without an id
wget_resends() {
  try() { by_wget -q --tries=3 --post-data="$(body "$@")"; }
  each try
}

# CLIENT-9, also CLIENT-2, meets throttle: sets --retry-max-time below Retry-After, and says nothing
curl_retry_max_time() {
  try() { by_curl -f --retry 3 --retry-max-time 1 -d "$(body "$@" "id-$1")"; }
  each try | grep accepted
}

# CLIENT-10, meets quota: leaves out --fail, and takes the exit code 0 for success
curl_without_fail() {
  try() { by_curl -d "$(body "$@" "id-$1")"; }
  each try
}

# right: lets curl --retry do the waiting
curl_retry() {
  try() { by_curl -f --retry 3 -d "$(body "$@" "id-$1")" | grep -q '}$'; }
  persistently try
}

# right: speaks HTTP/1.0
curl_http_1_0() {
  try() { by_curl -0 -f --retry 3 -d "$(body "$@" "id-$1")" | grep -q '}$'; }
  persistently try
}

# right: sleeps for the Retry-After that it reads
wget_waits_by_header() {
  try() {
    local said
    said=$(by_wget -S --tries=1 --post-data="$(body "$@" "id-$1")" 2>&1)
    local failed=$?
    local wait
    wait=$(sed -n 's/^ *retry-after: \([0-9]*\).*/\1/Ip' <<<"$said")
    [ -n "$wait" ] && sleep "$wait"
    [ "$failed" = 0 ] && grep -q '"message_id":"[^"]*".*}' <<<"$said"
  }
  persistently try
}

"$1"
