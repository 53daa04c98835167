/** The health check of a process that serves no one: a worker is ready until it stops, a standby never. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLocalHealth } from '../../../lib/app/local-health.ts'

const asked = async (address: string, path: string) => {
  const res = await fetch(address + path)
  const { status, code, reasons } = (await res.json()) as Record<string, unknown> & {
    reasons?: { code: string }[]
  }
  return [res.status, status ?? code, reasons?.map(reason => reason.code)]
}

test('/ready says stopping, and /health still answers', async () => {
  const worker = await openLocalHealth('worker')
  const standby = await openLocalHealth('standby')
  assert.equal(await asked(worker.address, '/ready'), [200, 'ready', []])
  assert.equal(await asked(standby.address, '/ready'), [503, 'unavailable', ['standby']])
  for (const health of [worker, standby]) {
    health.stopping()
    assert.equal(await asked(health.address, '/ready?x'), [503, 'unavailable', ['stopping']])
    assert.is((await asked(health.address, '/health'))[0], 200)
    assert.equal(await asked(health.address, '/'), [503, 'unavailable', undefined])
    health.close()
  }
})

test.run()
