/** Paths of cells, which a forwarder shows below its own. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseBasePath } from '../../../lib/base/base-path.ts'
import { CELLS, cellOfPath, pathOfCell } from '../../../lib/http/cell-path.ts'
import { firstSegments } from '../../../lib/http/routes.ts'
import { patternRoutes, routes } from '../../../router.ts'

const test = suite('http/cell-path')

test('every name has a path that is a base path, and back', () => {
  for (const cell of ['anna', 'anna@example.com', 'a.b-c_d', 'A1'])
    for (const rest of ['', '/', '/session/x?y=1', '?q']) {
      const path = pathOfCell(cell)
      assert.is(parseBasePath(path), path)
      assert.equal(cellOfPath(path + rest), { cell, length: path.length })
    }
})

test('other paths name no cell', () => {
  for (const path of [
    '/',
    '/cells',
    '/cells/',
    '/cells/?x',
    '/cells/.',
    '/cells/../x',
    '/cells/a b',
    '/cells/a%2fb',
    '/cellsx/a',
    '//cells/a',
  ])
    assert.is(cellOfPath(path), null)
})

test('the service has no page there', () => {
  assert.not(firstSegments(routes, patternRoutes).has(CELLS.slice(1)))
})

test.run()
