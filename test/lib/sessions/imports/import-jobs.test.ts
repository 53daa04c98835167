/** Imports that run by themselves: one for each person, and what is known of one that the service ended. */
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { diskFull } from '../../../../lib/errors.ts'
import { createTestClock } from '../../../_clock.ts'
import { ImportJobs } from '../../../../lib/sessions/imports/import-jobs.ts'
import { type ImportBench, openImports } from './_bench.ts'

const test = suite<{ bench: ImportBench }>('import jobs')
test.before.each(context => {
  context.bench = openImports()
})
test.after.each(({ bench }) => bench.close())

const openJobs = ({ root }: ImportBench) => {
  const warnings: string[] = []
  const log = { info: () => undefined, warn: (line: string) => void warnings.push(line) }
  const path = join(root, 'imports.json')
  return { warnings, jobs: new ImportJobs(path, createTestClock(1_800_000_000_000), log) }
}

test('one at a time for each person; when the service ends, no chat is written in part', async ({
  bench,
}) => {
  const attachments = ['a', 'b'].map(name => ({ file_name: name, extracted_content: name }))
  const path = bench.write('a.json', {
    ...{ uuid: 'u', name: 'Chat' },
    chat_messages: [{ sender: 'human', text: 'A', attachments }],
  })
  const storing = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const store: typeof bench.target.store = async (...given) => {
    storing.resolve()
    await held.promise
    return bench.target.store(...given)
  }
  const { jobs } = openJobs(bench)
  let discarded = 0
  const given = {
    ...{ path, name: 'a.json', target: { ...bench.target, store } },
    discard() {
      discarded += 1
    },
  }
  assert.is(jobs.start('mia', given).status, 'running')
  await storing.promise
  assert.throws(() => jobs.start('mia', given), /is running/)
  jobs.requireIdle('noah')
  assert.is(openJobs(bench).jobs.state('mia').status, 'interrupted')
  const closed = jobs.close()
  held.resolve()
  await closed
  for (const each of [jobs, openJobs(bench).jobs])
    assert.is(each.state('mia').status, 'interrupted')
  assert.equal([discarded, bench.ids()], [1, []])
})

test('a file that cannot be removed afterwards is a warning', async ({ bench }) => {
  const path = bench.write('a.json', { uuid: 'u', chat_messages: [{ sender: 'human', text: 'A' }] })
  const { jobs, warnings } = openJobs(bench)
  const discard = () => {
    throw new Error('read-only')
  }
  jobs.start('mia', { path, name: 'a.json', target: bench.target, discard })
  while (jobs.isRunning()) await setImmediate()
  assert.is(jobs.state('mia').status, 'done')
  assert.equal(warnings, ['import: read-only'])
})

test('what ended an import is shown when it could not be saved', async ({ bench }) => {
  const path = bench.write('a.json', { uuid: 'u', chat_messages: [{ sender: 'human', text: 'A' }] })
  const { jobs } = openJobs(bench)
  const write = () => {
    bench.write('imports.json', '{')
    throw diskFull('full')
  }
  const target = { ...bench.target, write }
  jobs.start('mia', { path, name: 'a.json', target, discard: () => undefined })
  while (jobs.isRunning()) await setImmediate()
  const { status, code } = jobs.state('mia')
  assert.equal([status, code], ['failed', 'disk_full'])
  jobs.requireIdle('mia')
})

test.run()
