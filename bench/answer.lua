-- wrk's requests: lines to translate, at a rate for the whole thread where RATE is set, as fast as answers come where
-- it is not. ANSWER_TOKEN and ANSWER_RATE (requests a second of one thread) are in the environment.
local ffi = require("ffi")
ffi.cdef("typedef struct { long sec, nsec; } bench_time; int clock_gettime(int, bench_time *);")
local now = ffi.new("bench_time")
local rate, due, number = tonumber(os.getenv("ANSWER_RATE")), nil, 0

local function seconds()
    ffi.C.clock_gettime(1, now)
    return tonumber(now.sec) + tonumber(now.nsec) * 1e-9
end

wrk.method = "POST"
wrk.path = "/v1/models/words:predict"
wrk.headers["Authorization"] = "Bearer " .. os.getenv("ANSWER_TOKEN")

function request()
    number = number + 1
    local words = {}
    for i = 1, 3 + number % 6 do
        words[i] = 2 + (number * 7 + i * i) % 16
    end
    return wrk.format(nil, nil, nil, '{"instances": ["' .. table.concat(words, " ") .. '"]}')
end

-- Milliseconds until the next request: what is late is not left out, so that the rate holds over time.
if rate then
    function delay()
        local time = seconds()
        due = math.max((due or time) + 1 / rate, time - 1)
        return math.max(0, math.floor((due - time) * 1000))
    end
end

function done(summary, latency)
    local e = summary.errors
    io.write(string.format("result %d %.3f %d %.3f %.3f %.3f %.3f\n", summary.requests, summary.duration / 1e6,
                           e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(50) / 1000,
                           latency:percentile(99) / 1000, latency:percentile(99.9) / 1000, latency.max / 1000))
end
