-- Creates a log. KEYS: its head. ARGV: the head's fields and values, first the header.
-- Replies 1 if the log was created, now or by an earlier attempt of the same call; 0 if the id is taken.
local header = redis.call('HGET', KEYS[1], 'header')
if header then return header == ARGV[2] and 1 or 0 end
redis.call('HSET', KEYS[1], unpack(ARGV))
return 1
