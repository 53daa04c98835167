/** The whole list in parts: after any change it has what the pages have, and a change reads one part again. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Catalog, createCatalog } from '../../../lib/sessions/catalog.ts'
import { emptySummary, type Summary } from '../../../lib/sessions/fold.ts'
import { rowsOf } from '../../../lib/sessions/listing.ts'
import { createWholeList } from '../../../lib/sessions/whole-list.ts'
import { createRandom } from '../../_random.ts'

const test = suite('sessions: the whole list')

const summary = (id: string, updated_at: number, title: string, profile: string): Summary => ({
  ...emptySummary(id),
  updated_at,
  meta: { title, profile },
  count: 1,
  preview: 'x'.repeat(500),
})

const withCatalog = (work: (catalog: Catalog) => void): void => {
  const dir = mkdtempSync(join(tmpdir(), 'whole-list-'))
  const file = join(dir, 'catalog.db')
  const catalog = createCatalog({ file, redact: text => text, log: () => {}, rebuild: () => {} })
  try {
    work(catalog)
  } finally {
    catalog.close()
    rmSync(dir, { recursive: true })
  }
}

const pageByPage = (catalog: Catalog, profile: string | null): string[] => {
  const found: string[] = []
  for (let after: { ms: number; id: string } | null = null; ; ) {
    const page = catalog.page(after, 500, profile)
    found.push(...page.map(({ row }) => row))
    after = page.at(-1) ?? null
    if (page.length < 500) return found
  }
}

test('has the rows of the pages after any changes, of one profile and of all', () => {
  withCatalog(catalog => {
    const list = createWholeList(catalog)
    const random = createRandom(7)
    const ids: string[] = []
    const put = (id: string) => {
      // Many have the same time.
      const at = 1_000 + random.below(400)
      const profile = random.below(4) === 0 ? 'work' : 'default'
      catalog.put(summary(id, at, `title ${random.below(1e6)}`, profile), '1:1:1:1', false)
    }
    const same = (profile: string | null) =>
      assert.ok(
        JSON.stringify(rowsOf(list.read(profile)).map(row => JSON.stringify(row))) ===
          JSON.stringify(pageByPage(catalog, profile)),
      )
    same(null)
    catalog.batch(() => {
      for (let at = 0; at < 1_500; at++) {
        ids.push(`s${at}`)
        put(`s${at}`)
      }
    })
    for (let round = 0; round < 120; round++) {
      for (let change = random.below(4); change >= 0; change--) {
        const id = ids[random.below(ids.length)]!
        const kind = random.below(10)
        if (kind === 0) catalog.remove(id)
        else if (kind < 4) catalog.setLive(id, { active_stream_id: `t${round}`, waiting: 1 })
        else put(id)
      }
      if (round % 40 === 20)
        catalog.batch(() => {
          for (const id of ids.slice(0, 1_200)) put(id)
        })
      same(round % 5 === 0 ? 'work' : null)
    }
  })
})

test('reads one part again after a change of a row, and two when its time changes', () => {
  withCatalog(catalog => {
    catalog.batch(() => {
      for (let at = 0; at < 2_000; at++)
        catalog.put(summary(`s${at}`, 10_000 - at, 'title', 'default'), '1:1:1:1', false)
    })
    let spans = 0
    const counted = Object.create(catalog, {
      span: {
        value(...asked: Parameters<Catalog['span']>) {
          spans += 1
          return catalog.span(...asked)
        },
      },
    }) as Catalog
    const list = createWholeList(counted)
    list.read(null)
    assert.ok(spans >= 8)
    const costs = (change: () => void) => {
      spans = 0
      change()
      list.read(null)
      return spans
    }
    assert.is(
      costs(() => catalog.setLive('s900', { active_stream_id: 'x', waiting: null })),
      1,
    )
    const later = summary('s1500', 20_000, 'newest', 'default')
    assert.is(
      costs(() => void catalog.put(later, '1:1:1:2', false)),
      2,
    )
    assert.is(rowsOf(list.read(null))[0]?.title, 'newest')
    assert.is(
      costs(() => catalog.remove('s3')),
      1,
    )
    assert.is(
      costs(() => {}),
      0,
    )
  })
})

test.run()
