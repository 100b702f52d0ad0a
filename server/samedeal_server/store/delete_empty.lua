-- Deletes a log if it is empty. KEYS: its head, its stream. Replies 1 if it is deleted, 0 if it has entries.
local n = redis.call('HGET', KEYS[1], 'n')
if n and tonumber(n) > 0 then return 0 end
redis.call('DEL', KEYS[1], KEYS[2])
return 1
