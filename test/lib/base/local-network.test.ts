import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isLocalUrl, isLoopbackHost, isPrivateAddress } from '../../../lib/base/local-network.ts'

const test = suite('this machine and its network')

test('addresses that count as this machine or its network', () => {
  for (const host of [
    'localhost',
    'a.localhost',
    '127.0.0.1',
    '127.9.9.9',
    '[::1]',
    '10.0.0.1',
    '192.168.1.5',
    '172.16.0.1',
    '172.31.255.1',
    '169.254.1.1',
    'ollama',
    'box.local',
    'host.docker.internal',
    '[fd00::1]',
    '[fe80::1]',
  ])
    assert.is(isLocalUrl(`http://${host}:8000/v1`), true, host)
  for (const host of [
    'example.com',
    '8.8.8.8',
    '172.32.0.1',
    '127.0.0.1.evil.com',
    '10.evil.com',
    'localhost.evil.com',
    '[2001:db8::1]',
  ])
    assert.is(isLocalUrl(`http://${host}:8000/v1`), false, host)
  assert.is(isLocalUrl('nonsense'), false)
})

test('private addresses', () => {
  for (const address of ['0.0.0.0', '100.64.0.1', '172.31.0.1', '::', 'fe80::1'])
    assert.ok(isPrivateAddress(address), address)
  for (const address of ['8.8.8.8', '172.32.0.1', '2606:4700::1', 'name'])
    assert.not.ok(isPrivateAddress(address), address)
})

test('this machine, in every notation', () => {
  for (const host of [
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    '127.9.9.9',
    '::1',
    '[::1]',
    '::ffff:127.0.0.1',
  ])
    assert.ok(isLoopbackHost(host), host)
  for (const host of ['', 'localhost.evil.com', '127.0.0.1.evil.com', '10.0.0.1', '::', 'ollama'])
    assert.not.ok(isLoopbackHost(host), host)
})

test.run()
