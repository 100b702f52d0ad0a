-- Sets the successor of a race if it is still the expected one. KEYS: the successor. ARGV: the id of the expected one
-- ('' for none), the id and the text of the new one, seconds until it expires (0: never). Replies the text of the
-- successor that the race has then.
if (redis.call('HGET', KEYS[1], 'race') or '') ~= ARGV[1] then return redis.call('HGET', KEYS[1], 'successor') end
redis.call('HSET', KEYS[1], 'race', ARGV[2], 'successor', ARGV[3])
if tonumber(ARGV[4]) > 0 then redis.call('EXPIRE', KEYS[1], ARGV[4]) end
return ARGV[3]
