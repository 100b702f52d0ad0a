-- Uses up a login code. KEYS: the player's newest code. ARGV: digest of the code, digest of the token it is exchanged for.
-- Replies 1 if the code is or was exchanged for this token, 0 if it is not the newest code or was used before.
local used = ARGV[1] .. ':' .. ARGV[2]
local newest = redis.call('GET', KEYS[1])
if newest == ARGV[1] then
  redis.call('SET', KEYS[1], used, 'KEEPTTL')
  return 1
end
return newest == used and 1 or 0
