/** The search of the sidebar: titles at once, the server after a pause, and more of it as one scrolls. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Search } from '../../../public/features/sessions/search.ts'
import { fakePlatform, fakeRow, settle } from '../_page.ts'

const test = suite('page: search')

test('never stops at the first page: more is fetched until the server has no other', async () => {
  const all = Array.from({ length: 130 }, (_, at) => fakeRow(`s${at}`))
  const fake = fakePlatform({
    'GET /api/sessions/search': ({ limit }) => ({
      sessions: all.slice(0, Number(limit)),
      more: all.length > Number(limit),
    }),
  })
  const search = new Search(fake.platform, () => [])
  search.set('done')
  await fake.clock.advance(200)
  await settle()
  assert.equal([search.hits.value.length, search.hasMore.value], [50, true])
  search.more()
  // Scrolling goes on while they are fetched.
  search.more()
  await settle()
  assert.equal([search.hits.value.length, search.hasMore.value], [100, true])
  search.more()
  await settle()
  assert.equal([search.hits.value.length, search.hasMore.value], [130, false])
  search.more()
  await settle()
  const asked = fake.service.of('GET /api/sessions/search').map(({ limit }) => limit)
  assert.equal(asked, [50, 100, 200])

  // Another search begins anew.
  search.set('other')
  await fake.clock.advance(200)
  await settle()
  assert.is(search.hits.value.length, 50)
})

test.run()
