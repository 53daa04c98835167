/** Sorting the rows of a table. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { numberOf, sortRows } from '../../../public/features/panel/csv-view.tsx'

const test = suite('sorted rows')
const column = (cells: string[], down: boolean) =>
  sortRows(
    cells.map(cell => [cell]),
    { column: 0, down },
  ).map(([cell]) => cell)

test('reads numbers with separators and percent signs, and nothing else as numbers', () => {
  assert.equal(['1,234.5', '12 %', '-3', '.5', '1e3'].map(numberOf), [1234.5, 12, -3, 0.5, 1000])
  for (const text of ['', '-', '1,2', '1.2.3', '2026-01-02', 'x1', '0x10'])
    assert.ok(Number.isNaN(numberOf(text)), text)
})

test('sorts numbers by value before texts, and keeps empty cells last in both directions', () => {
  assert.equal(column(['b', '10', '', '9', 'a'], false), ['9', '10', 'a', 'b', ''])
  assert.equal(column(['b', '10', '', '9', 'a'], true), ['b', 'a', '10', '9', ''])
})

test('keeps the order of equal rows, and the rows without a sorting', () => {
  const rows = [['x', '1'], ['x', '2'], []]
  assert.equal(sortRows(rows, { column: 0, down: true }), rows)
  assert.is(sortRows(rows, null), rows)
})

test.run()
