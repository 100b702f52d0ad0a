-- Adds a member to a sorted set that has room for it. KEYS: the set. ARGV: most members (0 is any number), score, member,
-- seconds until the set expires (0 is never). Replies 1 if the member is in the set now, 0 if the set is full.
local most = tonumber(ARGV[1])
if most > 0 and not redis.call('ZSCORE', KEYS[1], ARGV[3]) and redis.call('ZCARD', KEYS[1]) >= most then return 0 end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[3])
if tonumber(ARGV[4]) > 0 then redis.call('EXPIRE', KEYS[1], ARGV[4]) end
return 1
