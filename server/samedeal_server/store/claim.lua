-- Adds a member to a sorted set unless it is full. KEYS: the set. ARGV: the most members (0: no limit), score, member,
-- seconds until the set expires (0: never). Replies 1 if the set has the member, 0 if it is full.
local most = tonumber(ARGV[1])
if most > 0 and not redis.call('ZSCORE', KEYS[1], ARGV[3]) and redis.call('ZCARD', KEYS[1]) >= most then return 0 end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[3])
if tonumber(ARGV[4]) > 0 then redis.call('EXPIRE', KEYS[1], ARGV[4]) end
return 1
