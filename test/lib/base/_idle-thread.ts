/** Leaves garbage and rests; prints whether it was collected. */
import { setImmediate as immediate } from 'node:timers/promises'
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
const garbage = new WeakRef([1.5])
// A reference that was just made counts until the event loop turns.
await immediate()
for (const run of looks) run()
process.stdout.write(
  JSON.stringify({ isCollected: garbage.deref() === undefined, global: typeof globalThis.gc }),
)
