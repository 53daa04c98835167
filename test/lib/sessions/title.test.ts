/** Session titles: cleaning, provisional and fallback titles. */
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
  ['We should summarize', null],
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
  ['- Title: Night Trains', 'Night Trains'],
  ['* **Title:** Night Trains', 'Night Trains'],
  ['> Title: Night Trains', 'Night Trains'],
  ['• Chat title: Night Trains', 'Night Trains'],
  ['1. Title: Night Trains', 'Night Trains'],
  ['1) **Suggested title**: Night Trains', 'Night Trains'],
  ['**1. Title:** Night Trains', 'Night Trains'],
  ['- Night Trains', 'Night Trains'],
  ['Suggested chat title: Night Trains', 'Night Trains'],
  ['"Title": "Night Trains"', 'Night Trains'],
  ['Chat-Titel: Nachtzüge', 'Nachtzüge'],
  ['Titre : Trains de nuit', 'Trains de nuit'],
  ['**Título:** Trenes', 'Trenes'],
  ['标题：夜行列车', '夜行列车'],
  ['タイトル：夜行列車', '夜行列車'],
  ['제목: 야간열차', '야간열차'],
  ['Название: Ночные поезда', 'Ночные поезда'],
  ['العنوان: قطارات', 'قطارات'],
  ['<title>Night Trains</title>', 'Night Trains'],
  ['{"title": "Night Trains"}', 'Night Trains'],
  ['```json\n{"title": "Night Trains"}\n```', 'Night Trains'],
  ['```text\nNight Trains\n```', 'Night Trains'],
  ['1. FC Köln am Samstag', '1. FC Köln am Samstag'],
  ['Title 9: Arbitration', 'Title 9: Arbitration'],
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
  ['#travel Night Trains', 'travel Night Trains'],
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

/** Ordinary titles, many of which begin like a remark about the task. */
const ORDINARY =
  `Hello World in Rust|No Internet Connection Fix|Hello, World! in Twelve Languages|Hi-Fi Speaker Setup|Hi-Res Audio on Linux
No Man's Sky Save Recovery|No-Code Tools Compared|No Sound After Update|Yes/No Prompt in Bash|Yes Minister Episode Guide|Great Gatsby Summary
Great Circle Distance Formula|Great Barrier Reef Trip|Thanks for All the Fish|Thank You Note for Teacher|Thank You Email After Interview
Sure Start Programme History|Sure-Footed Hiking Boots|OK Button Not Responding|OK Computer Album Notes|Okay Google Voice Commands
Done Is Better Than Perfect|Done Flag in State Machine|Understood Betsy Book Report|Absolutely Positioned Elements|Absolute Beginner Piano Plan
Certainly Maybe Lyrics|Let's Encrypt Certificate Renewal|Let's Go Fishing Game Design|Let It Be Chords|Let Me Love You Cover
I Will Survive Karaoke Key|I Want to Hold Your Hand Lyrics|I'm Not There Film Notes|I Robot Plot Explained|I/O Error on External Drive
We Will Rock You Drum Beat|We Have Always Lived in the Castle|The User Guide for a Lathe|The User Table Has No Index|The Human Genome Project
The Assistant Film Review|The Task Scheduler in Windows|The Conversation (1974)|The Request Header Explained|The Person of the Year List
Here Comes the Sun Tab|Here Be Dragons Map Origins|First, Second and Third Normal Form|First Aid for Burns|First, Do No Harm
Based on a True Story Films|Based on Trees: Data Structures|Looking at Art with Children|Looking Glass Self Theory|As an Adverb: Grammar
Generate a Title Page in LaTeX|Generate the Site Map with a Title|This Chat Server Leaks Memory|This Session Cookie Expires Early|So Long and Thanks
Well Water Testing|Well, Actually: Pedantry|So Sánh Vue Và React|Alright Algorithm|Will Do Lists Help|Of Course Design for Golf
Hola Mundo en Python|No funciona la impresora|Hallo Welt in C|Kein Internet nach Update|Reise nach Japan planen|Bonjour et Avahi sous Linux
Recette de pain au levain|Ok Google no responde|夜行列車の旅|用户界面设计|パスワードの変更方法|Как настроить VPN|إعداد الخادم|안녕하세요 인사말
Olá Mundo em Go|Sí o no: encuesta|C++ vs Rust|404 Error|Über uns Seite|The Conversation Was Recorded Law|The User Is Always Right|The Request Is Denied Error
The Question Is Moot in Law|The Task Is Stuck in Airflow|The User Has No Shell|I Want to Break Free Chords|I Will Find You Lyrics
Let's Start a Band|Let Me Try Again Chords|We Will Give Thanks`
    .split(/[|\n]/)
    .map(title => title.trim())

test('keeps ordinary titles', () => {
  assert.ok(ORDINARY.length >= 60)
  assert.equal(
    ORDINARY.filter(title => cleanTitle(title) !== title),
    [],
  )
})

test('rejects remarks about the task, acknowledgements and reasoning', () => {
  const none =
    `Okay.|Sure!|Sure, here is a title for you|Certainly! Here's a concise title|Of course, I can help with that|Thank you!|Hello! How can I help you today?
Hi there!|Yes, I can do that|No problem!|Got it, I'll generate a title|The user is asking about trains|The user asked how to bake bread
The user seems to want a recipe|The conversation is about bread|Okay, the user wants a title|So the user needs a short title|I'll summarize the conversation
I need to come up with a title|I should create a short title|We need to produce a title|Let me analyze the conversation|Let me think|Let's create a title
Let's see what the user wants|Here is a suggested title|Here are some options|Here you go|First, I need to understand|This conversation is about Rust
Based on the conversation, a title|Based on this exchange|Looking at the conversation|As an AI language model|Analyzing the user's message
Generate a concise title|I'm happy to help|I am an AI|I'm sorry, but I can't do that|Alright, let me think about it|Great! I will write one|Hmm, the user says hello`
      .split(/[|\n]/)
      .map(title => title.trim())
  assert.equal(
    none.filter(title => cleanTitle(title) !== null),
    [],
  )
})

test('provisional: the first 64 characters of the user’s message', () => {
  // A tag is made by a person; this is the number of an issue.
  assert.is(provisionalTitle('Fix #404 and C# please. #e404'), 'Fix 404 and C# please. e404')
  assert.ok(isProvisional('Do it. #e404', 'Do it. #e404'), 'by an earlier version')
  assert.is(provisionalTitle('  hello \n world '), 'hello world')
  assert.is(provisionalTitle('a'.repeat(70)), 'a'.repeat(64))
  assert.is(provisionalTitle('look at this\n\n[Attached files: a.txt, b.txt]'), 'look at this')
  assert.is(provisionalTitle('look at this\n\n[Attached files: a[1].txt]'), 'look at this')
  assert.is(provisionalTitle('[Attached files: a[1].txt, b.txt]'), 'Untitled')
  assert.is(provisionalTitle('[Workspace: /home/u]\nlook'), 'look')
  assert.is(provisionalTitle(''), 'Untitled')
})

test('titles that count as provisional', () => {
  for (const title of ['Untitled', 'untitled', 'New Chat', '', '  ', null, undefined]) {
    assert.ok(isProvisional(title), String(title))
  }
  assert.ok(isProvisional('hello world', 'hello   world'))
  assert.not.ok(isProvisional('hello world'))
  assert.not.ok(isProvisional('My title', 'hello world'))
})

test('fallback title: up to four words of the first sentence', () => {
  assert.is(
    fallbackTitle('How do I bake sourdough bread at home? It is cold.'),
    'Bake sourdough bread home',
  )
  assert.is(fallbackTitle('Fix fix FIX the fix parser parser'), 'Fix parser')
  assert.is(fallbackTitle('hi'), 'Conversation topic')
  assert.is(fallbackTitle(''), 'Conversation topic')
  assert.is(fallbackTitle('??? !!!'), 'Conversation topic')
  assert.is(fallbackTitle('夜行列車の旅'), '夜行列車の旅')
  assert.is(fallbackTitle('write notes.txt.'), 'Write notes.txt')
  assert.is(fallbackTitle('src/app.ts: mend it, and/or Node.js'), 'src/app.ts mend and/or Node.js')
  assert.ok(fallbackTitle('wordword'.repeat(50)).length <= 60)
})

test('a message of blank lines alone does not block the service', () => {
  for (const blank of ['\n', ' ', '\t\n']) {
    assert.is(fallbackTitle(blank.repeat(3_000_000)), 'Conversation topic')
    assert.is(provisionalTitle(blank.repeat(3_000_000)), 'Untitled')
  }
})

test.run()
