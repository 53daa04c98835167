/** How destinations are written, what they reach, and which patterns name them. */
import { networkInterfaces } from 'node:os'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isHostPattern, isListed, readTarget } from '../../../../lib/base/host-pattern.ts'
import { kindOfAddress, kindOfHost } from '../../../../lib/commands/sandbox/network-opener.ts'

const test = suite('sandbox: destinations')

const kindOf = (authority: string) => {
  const target = readTarget(authority)
  return target && kindOfHost(target.host)
}

/** Every one means this computer, or a metadata service. */
const NEVER = `
  localhost:80 LOCALHOST.:80 a.localhost:80 localhost.localdomain:80 localhost4.localdomain4:80
  localhost6:80 ip6-localhost:80 ip6-loopback:80 127.0.0.1:80 127.1:80 127.255.0.9:80 0x7f.1:80
  0177.0.0.1:80 2130706433:80 １２７.0.0.1:80 ①②⑦.0.0.1:80 127.0.0.1.:80 %31%32%37.0.0.1:80 0:80
  0.0.0.0:80 [::]:80 [::1]:80 [0:0:0:0:0:0:0:1]:80 [::ffff:127.0.0.1]:80 [::ffff:7f00:1]:80
  [::127.0.0.1]:80 [64:ff9b::127.0.0.1]:80 [2002:7f00:1::]:80 169.254.169.254:80
  [::ffff:a9fe:a9fe]:80 [fe80::1]:80 [fd00:ec2::254]:80 100.100.100.200:80
  metadata.google.internal:80 instance-data.ec2.internal:80 168.63.129.16:80
  [::ffff:168.63.129.16]:80 224.0.0.1:80 255.255.255.255:80 [ff02::1]:80
`

test('this computer and metadata services, in every spelling', () => {
  for (const authority of NEVER.trim().split(/\s+/))
    assert.is(kindOf(authority), 'never', authority)
  for (const { address, scopeid } of Object.values(networkInterfaces()).flatMap(list => list ?? []))
    if (!scopeid) {
      assert.is(kindOfAddress(address), 'never', address)
      if (!address.includes(':')) assert.is(kindOfAddress(`::ffff:${address}`), 'never', address)
    }
})

test('networks of the person, and the internet', () => {
  const PRIVATE = ['10.0.0.5', '192.168.99.7', '172.31.0.9', '[fd12::5]', '[::ffff:10.0.0.5]']
  for (const host of [
    ...PRIVATE,
    '198.18.0.4',
    '100.64.1.1',
    'nas.local',
    'registry',
    'a.internal',
  ])
    assert.is(kindOf(`${host}:80`), 'private', host)
  for (const host of [
    'registry.npmjs.org',
    'localhost.example',
    '8.8.8.8',
    '[2606:4700::1111]',
    'münchen.example',
  ])
    assert.is(kindOf(`${host}:443`), 'public', host)
})

test('what is no host and port', () => {
  for (const text of [
    '',
    'example.org',
    'example.org:',
    'example.org:0',
    'example.org:65536',
    'example.org:-1',
    ':80',
    'a@b:80',
    'a/b:80',
    'a?b:80',
    'a#:80',
    'a\\b:80',
    'a b:80',
    '[::1:80',
    '1.2.3.4.5:80',
    '[fe80::1%eth0]:80',
    '256.1.1.1:80',
  ])
    assert.is(readTarget(text), null, text)
  assert.equal(readTarget('EXAMPLE.org.:443'), { host: 'example.org', port: 443 })
  assert.equal(readTarget('[2606:4700:0::1111]:80'), { host: '2606:4700::1111', port: 80 })
})

test('patterns: a host, its subdomains, one port', () => {
  const named = (pattern: string, host: string, port = 443) => isListed([pattern], { host, port })
  assert.ok(named('registry.npmjs.org', 'registry.npmjs.org', 8_443))
  assert.not.ok(named('registry.npmjs.org', 'evil.registry.npmjs.org'))
  assert.not.ok(named('npmjs.org', 'registry.npmjs.org'))
  assert.ok(named('*.GitHub.com', 'api.github.com'))
  assert.not.ok(named('*.github.com', 'github.com'))
  assert.not.ok(named('*.github.com', 'evilgithub.com'))
  assert.ok(named('*.local', 'nas.local'))
  assert.ok(named('db:5432', 'db', 5_432))
  assert.not.ok(named('10.0.0.5:5432', '10.0.0.5', 22))
  assert.ok(named('[fd00:0::5]', 'fd00::5'))
  for (const text of [
    'npm',
    'npm install *',
    '*',
    '*.*',
    'a.*.b',
    '',
    'https://a.b',
    'a.b:x',
    '*.1.2.3.4',
  ])
    assert.not.ok(isHostPattern(text), text)
  // An unreadable entry names nothing, and the others still do.
  assert.ok(isListed(['npm install *', 'a.example'], { host: 'a.example', port: 443 }))
})

test.run()
