/** Leaves garbage and rests; prints what the heap holds before and after. */
import { setV8Flags } from '../../../lib/app/v8-flags.ts'
import { collectWhenIdle } from '../../../lib/base/collect-when-idle.ts'

setV8Flags()
const looks: (() => void)[] = []
collectWhenIdle({
  busy: () => 0,
  every(run) {
    looks.push(run)
    return () => undefined
  },
})
const used = () => process.memoryUsage().heapUsed
let kept: number[][] | undefined = Array.from({ length: 40 }, () => Array(100_000).fill(1.5))
const arrays = kept.length
const before = used()
kept = undefined
for (const run of looks) run()
process.stdout.write(
  JSON.stringify({ arrays, before, after: used(), global: typeof globalThis.gc }),
)
