-- Appends entries to chained logs, for each log all or none, and only if it ends where the writer expects.
-- KEYS: for each log, its stream and its head (a hash with n and h, the number and digest of the last entry).
-- ARGV: for each log, the digest before the entries and their count; for each entry, its number, text and digest.
-- Replies for each log with 1 if the entries are there, written now or by an earlier attempt of the same call, or 0 if
-- the log has others there, ends before the last entry that the writer knows, or does not exist.
local replies, a = {}, 1
for k = 1, #KEYS, 2 do
  local before, count, first = ARGV[a], tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local function of(i, field) return ARGV[a + 2 + 3 * i + field] end
  local head = redis.call('HMGET', KEYS[k + 1], 'n', 'h')
  local n, written = tonumber(head[1]), false
  if n and n > first + count - 1 then
    local id = of(count - 1, 0) .. '-0'
    local entry = redis.call('XRANGE', KEYS[k], id, id)[1]
    written = entry and entry[2][4] == of(count - 1, 2)
  elseif n and n >= first - 1 then
    local done = n - first + 1
    written = head[2] == (done == 0 and before or of(done - 1, 2))
    if written and done < count then
      for i = done, count - 1 do
        redis.call('XADD', KEYS[k], of(i, 0) .. '-0', 'e', of(i, 1), 'h', of(i, 2))
      end
      redis.call('HSET', KEYS[k + 1], 'n', of(count - 1, 0), 'h', of(count - 1, 2))
    end
  end
  replies[#replies + 1] = written and 1 or 0
  a = a + 2 + 3 * count
end
return replies
