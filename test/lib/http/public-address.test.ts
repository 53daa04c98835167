/** What must never be fetched: every way to write an address of this machine or its network. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  checkAddresses,
  checkUrl,
  isMetadataHost,
  isPublicAddress,
  allowNone,
} from '../../../lib/http/public-address.ts'

const test = suite('web addresses')

const PRIVATE_URLS = [
  'http://127.0.0.1/',
  'http://127.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.0.0.1/',
  'http://0177.0.0.1/',
  'http://017700000001/',
  'http://①②⑦.⓪.⓪.①/',
  'http://127。0。0。1/',
  'http://%31%32%37.0.0.1/',
  'http://0/',
  'http://0.0.0.0/',
  'http://10.1.2.3/',
  'http://172.16.0.1/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://192.0.0.1/',
  'http://198.18.0.1/',
  'http://192.0.2.1/',
  'http://224.0.0.1/',
  'http://240.0.0.1/',
  'http://255.255.255.255/',
  'http://[::]/',
  'http://[::1]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://[::127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[64:ff9b::10.0.0.1]/',
  'http://[2002:7f00:1::]/',
  'http://[2001::1]/',
  'http://[fe80::1]/',
  'http://[fec0::1]/',
  'http://[fc00::1]/',
  'http://[fd00:ec2::254]/',
  'http://[ff02::1]/',
  'http://[2001:db8::1]/',
  'http://localhost/',
  'http://LOCALHOST./',
  'http://printer.local/',
  'http://a.localhost/',
  'http://metadata.google.internal/',
  'http://metadata/',
]

const NO_PAGES = [
  'file:///etc/passwd',
  'ftp://example.org/',
  'gopher://example.org/',
  'javascript:alert(1)',
  'data:text/html,x',
  '//example.org/',
  'example.org',
  '',
  'http://',
  'http://user@example.org/',
  'http://user:pass@example.org/',
  'https://example.org@127.0.0.1/',
]

test('rejects private addresses in every notation', () => {
  for (const url of PRIVATE_URLS)
    assert.throws(() => checkUrl(url, allowNone), /public internet/, url)
})

test('rejects anything but a plain web address', () => {
  for (const url of NO_PAGES) assert.throws(() => checkUrl(url, allowNone), undefined, url)
})

test('allows public addresses', () => {
  for (const url of ['https://example.org/a?b#c', 'http://8.8.8.8/', 'http://[2606:4700::1111]/'])
    assert.is(checkUrl(url, allowNone).href, new URL(url).href)
})

test('one private address among the answers is enough to reject a name', () => {
  const of = (...addresses: string[]) => addresses.map(address => ({ address, family: 4 }))
  for (const found of [of('127.0.0.1'), of('8.8.8.8', '10.0.0.1'), of('::ffff:10.0.0.1'), of()])
    assert.throws(() => checkAddresses('name.example', found, allowNone), /public internet/)
  assert.is(checkAddresses('name.example', of('8.8.8.8', '1.1.1.1'), allowNone).length, 2)
})

test('an address that embeds a public one is public, one with a zone never is', () => {
  assert.ok(isPublicAddress('::ffff:8.8.8.8'))
  assert.ok(isPublicAddress('2002:808:808::'))
  assert.not(isPublicAddress('2606:4700::1111%eth0'))
  assert.not(isPublicAddress('no address'))
})

test('private networks can be allowed; cloud metadata addresses stay blocked in every notation', () => {
  const own = (host: string) => !isMetadataHost(host)
  assert.is(checkUrl('http://192.168.1.1/', own).hostname, '192.168.1.1')
  assert.is(checkUrl('http://localhost:8080/', own).hostname, 'localhost')
  for (const url of [
    'http://169.254.169.254/',
    'http://2852039166/',
    'http://[::ffff:169.254.169.254]/',
    'http://[64:ff9b::a9fe:a9fe]/',
    'http://[fd00:ec2::254]/',
    'http://100.100.100.200/',
    'http://[::ffff:100.100.100.200]/',
    'http://192.0.0.192/',
    'http://168.63.129.16/',
    'http://[64:ff9b::168.63.129.16]/',
    'http://metadata.google.internal/',
  ])
    assert.throws(() => checkUrl(url, own), /public internet/, url)
})

test.run()
