-- Appends entries to the logs of races, for each race all or none, and only if the log ends where the writer expects.
-- KEYS: for each race, its log (a stream) and its head (a hash with n and h, the number and digest of the last entry).
-- ARGV: for each race, the digest before the entries and their count; for each entry, its number, text and digest.
-- Replies for each race with {status, last number}:
--   ok      the entries are in the log, written now or by an earlier attempt of the same call
--   behind  the log has other entries there: the writer has to read it again
--   lost    the log ends before the last entry that the writer knows: the store has lost entries
--   gone    the race does not exist
local replies, a = {}, 1
for k = 1, #KEYS, 2 do
  local before, count, first = ARGV[a], tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local function of(i, field) return ARGV[a + 2 + 3 * i + field] end
  local head = redis.call('HMGET', KEYS[k + 1], 'n', 'h')
  local n, status = tonumber(head[1]), 'ok'
  if not n then
    status, n = 'gone', -1
  elseif n < first - 1 then
    status = 'lost'
  elseif n > first + count - 1 then
    local id = of(count - 1, 0) .. '-0'
    local entry = redis.call('XRANGE', KEYS[k], id, id)[1]
    if not entry or entry[2][4] ~= of(count - 1, 2) then status = 'behind' end
  else
    local done = n - first + 1
    if head[2] ~= (done == 0 and before or of(done - 1, 2)) then
      status = 'behind'
    elseif done < count then
      for i = done, count - 1 do
        redis.call('XADD', KEYS[k], of(i, 0) .. '-0', 'e', of(i, 1), 'h', of(i, 2))
      end
      redis.call('HSET', KEYS[k + 1], 'n', of(count - 1, 0), 'h', of(count - 1, 2))
      n = first + count - 1
    end
  end
  replies[#replies + 1] = {status, n}
  a = a + 2 + 3 * count
end
return replies
