# rack-attack before an empty server: `LIMIT=20 WINDOW_MS=4000 puma -b tcp://127.0.0.1:PORT config.ru`.
require 'active_support'
require 'active_support/cache'
require 'rack/attack'

Rack::Attack.cache.store = ActiveSupport::Cache::MemoryStore.new
limit = ENV.fetch('LIMIT').to_i
period = ENV.fetch('WINDOW_MS').to_i / 1000
Rack::Attack.throttle('address', limit: limit, period: period, &:ip)
use Rack::Attack
run ->(_) { [200, { 'content-type' => 'text/plain' }, ['ok']] }
