-- Creates the log of a race. KEYS: its head. ARGV: the header's text, the digest before the first entry, the text of
-- the host and the race that it replaces ('' for none).
-- Replies 1 if the race was created, now or by an earlier attempt of the same call; 0 if the id is taken.
local header = redis.call('HGET', KEYS[1], 'header')
if header then return header == ARGV[1] and 1 or 0 end
redis.call('HSET', KEYS[1], 'header', ARGV[1], 'n', 0, 'h', ARGV[2])
if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'host', ARGV[3]) end
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'replaces', ARGV[4]) end
return 1
