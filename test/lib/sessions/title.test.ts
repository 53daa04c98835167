/** Titles, table by table. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  cleanTitle,
  fallbackTitle,
  isProvisional,
  provisionalTitle,
} from '../../../lib/sessions/title.ts'

const test = suite('sessions/title')

const CLEAN: [string, string | null][] = [
  ['', null],
  ['   \n ', null],
  ['"""', null],
  ['…', null],
  ['Untitled', null],
  ['New Chat', null],
  ['Sure, here you go!', null],
  ['OK', null],
  ['Got it.', null],
  ['Of course! I can help.', null],
  ['The user wants to know about trains', null],
  ['Okay, the user is asking for a title', null],
  ['I need to write a title', null],
  ['Let me think about this', null],
  ["Here's a title for you", null],
  ['We should summarise', null],
  ['<think>The user wants', null],
  ['Plain title', 'Plain title'],
  ['Title: Night Trains', 'Night Trains'],
  ['**Title:** Night Trains', 'Night Trains'],
  ['**Title**: Night Trains', 'Night Trains'],
  ['**Session Title:** Night Trains', 'Night Trains'],
  ['**Session Title: Night Trains**', 'Night Trains'],
  ['session title： 夜行列車', '夜行列車'],
  ['## Title: "Night Trains"', 'Night Trains'],
  ['Title:\nNight Trains', 'Night Trains'],
  ['**Session Title:**\n\n"Night Trains"', 'Night Trains'],
  ['"Night Trains"', 'Night Trains'],
  ['“Night Trains”', 'Night Trains'],
  ['`Night Trains`', 'Night Trains'],
  ['***Night Trains***', 'Night Trains'],
  ['Night Trains.', 'Night Trains'],
  ['Night trains...', 'Night trains...'],
  ['  Night \t  Trains  ', 'Night Trains'],
  ['Night Trains\nand a second line', 'Night Trains'],
  ['<think>The user wants trains.</think>\nNight Trains', 'Night Trains'],
  ['<thinking>\na\n</thinking>Night Trains<think>more', 'Night Trains'],
  ['leftover</think>Night Trains', 'Night Trains'],
  ['Okinawa travel plan', 'Okinawa travel plan'],
  ['Title deeds in old towns', 'Title deeds in old towns'],
  ['Subtitle: formats', 'Subtitle: formats'],
  ['Hidden costs of hydrogen', 'Hidden costs of hydrogen'],
  ['The user guide for a lathe', 'The user guide for a lathe'],
  ['#travel Night Trains', '#travel Night Trains'],
  [
    'No more nightmares: a long essay about how to sleep',
    'No more nightmares: a long essay about how to sleep',
  ],
  ['x'.repeat(100), 'x'.repeat(80)],
  [`x${'😀'.repeat(100)}`, `x${'😀'.repeat(79)}`],
]
for (const [raw, expected] of CLEAN) {
  test(`clean: ${raw.slice(0, 40).replace(/\n/g, '\\n')}`, () =>
    assert.is(cleanTitle(raw), expected))
}

test('provisional: the first 64 characters of the person’s own words', () => {
  assert.is(provisionalTitle('  hello \n world '), 'hello world')
  assert.is(provisionalTitle('a'.repeat(70)), 'a'.repeat(64))
  assert.is(provisionalTitle('look at this\n\n[Attached files: a.txt, b.txt]'), 'look at this')
  assert.is(provisionalTitle('[Workspace: /home/u]\nlook'), 'look')
  assert.is(provisionalTitle(''), 'Untitled')
})

test('nobody chose these', () => {
  for (const title of ['Untitled', 'untitled', 'New Chat', '', '  ', null, undefined]) {
    assert.ok(isProvisional(title), String(title))
  }
  assert.ok(isProvisional('hello world', 'hello   world'))
  assert.not.ok(isProvisional('hello world'))
  assert.not.ok(isProvisional('My title', 'hello world'))
})

test('fallback: up to four words of the first sentence', () => {
  assert.is(
    fallbackTitle('How do I bake sourdough bread at home? It is cold.'),
    'Bake sourdough bread home',
  )
  assert.is(fallbackTitle('Fix fix FIX the fix parser parser'), 'Fix parser')
  assert.is(fallbackTitle('hi'), 'Conversation topic')
  assert.is(fallbackTitle(''), 'Conversation topic')
  assert.is(fallbackTitle('??? !!!'), 'Conversation topic')
  assert.is(fallbackTitle('夜行列車の旅'), '夜行列車の旅')
  assert.ok(fallbackTitle('wordword'.repeat(50)).length <= 60)
})

test.run()
