/** Slips of every kind in the part of config.yaml that says where a model is: none of them leads to another address. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../lib/base/clock.ts'
import { resolveFor } from '../../../lib/models/resolve.ts'
import { resolveEndpoint } from '../../../lib/models/endpoint.ts'
import { yamlFile } from '../../../lib/store/yaml-file.ts'
import { bare } from './_home.ts'
import { configOf } from '../../_config.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite('configuration typos')

const OWN = 'http://127.0.0.1:9/v1'
const GOOD = `model:\n  default: llama\n  provider: custom\n  base_url: ${OWN}\n`
/** Without a provider the table's own address would be next. */
const BARE = `model:\n  default: gpt-4o\n  base_url: ${OWN}\n`

/** The address requests would go to, or the sentence why there is none. */
const addressFor = (text: string): string => {
  const dir = tempDir('slips')
  try {
    writeFileSync(join(dir, 'config.yaml'), text)
    const file = yamlFile(join(dir, 'config.yaml'))
    const home = {
      clock: systemClock,
      values: () => file.read(),
      config: () => configOf(file.read()),
      env: () => ({ OPENAI_API_KEY: 'sk-0123456789abcdefghij' }),
      dotenv: () => ({}),
      authJson: () => ({}),
    }
    return resolveEndpoint(home, bare, resolveFor(home, '')).baseUrl
  } catch (error) {
    return `refused: ${(error as Error).message}`
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

test('equivalent spellings resolve to the same address', () => {
  for (const text of [
    GOOD,
    `\ufeff${GOOD}`,
    `\ufeff${GOOD.replaceAll('\n', '\r\n')}`,
    `x: &m\n  default: llama\n  provider: custom\n  base_url: ${OWN}\nmodel: *m\n`,
    `x: &m\n  provider: custom\n  base_url: ${OWN}\nmodel:\n  <<: *m\n  default: llama\n`,
    GOOD.replace('custom', 'custm'),
    GOOD.replace('custom', '2024-01-01'),
    `model:\n  default: gpt-4o\n  provider: openai\nproviders:\n  openai:\n    url: ${OWN}\n`,
  ])
    assert.is(addressFor(text), OWN, text)
})

test('rejects every typo: nothing is sent to an address that is not configured', () => {
  const provider = (line: string) =>
    `model:\n  default: gpt-4o\n  provider: openai\nproviders:\n  openai:\n    ${line}\n`
  for (const text of [
    ...[
      'baseurl',
      'base-url',
      'BASE_URL',
      'url',
      'uri',
      'endpoint',
      'api_base',
      'host',
      'bаse_url',
    ].map(key => BARE.replace('base_url', key)),
    ...['[x]', '{a: b}', 'true', 'htp://x', '$HOST', '127.0.0.1:9/v1'].map(value =>
      BARE.replace(OWN, value),
    ),
    provider(`baseurl: ${OWN}`),
    provider(`endpoint: ${OWN}`),
    provider(`base_url: [${OWN}]`),
    BARE.replace('model:', 'Model:'),
    BARE.replace('model:', 'models:'),
    BARE.replaceAll('  ', '\t'),
    `${BARE}  base_url: https://other.example\n`,
    `${BARE}model: gpt-4o\n`,
    `${BARE}---\nmodel: gpt-4o\n`,
    'model: *nope\n',
    `model:\n  - default: gpt-4o\n  - base_url: ${OWN}\n`,
    'model: true\n',
    'model:\n  default: gpt-4o\n  provider: opnai\n',
    'model:\n  default: gpt-4o\n  provider: custom:nope\n',
  ])
    assert.match(addressFor(text), /^refused: /, text)
})

test.run()
