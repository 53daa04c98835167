/** Whether a browser can receive notifications, and what it lacks. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { supportHere } from '../../public/features/notifications/this-device.ts'

const test = suite('notifications on this device')

const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Safari/605.1.15'

/** As a browser with these globals answers. */
const supportIn = (
  globals: { secure?: boolean; push?: boolean; permission?: string },
  userAgent = 'Firefox/150.0',
): string => {
  const { secure = true, push = true, permission = 'default' } = globals
  const values = {
    isSecureContext: secure,
    navigator: { userAgent },
    Notification: { permission },
    window: push ? { PushManager: true, Notification: true } : {},
  }
  const before = Object.keys(values).map(
    name => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const,
  )
  for (const [name, value] of Object.entries(values))
    Object.defineProperty(globalThis, name, { value, configurable: true })
  try {
    return supportHere()
  } finally {
    for (const [name, descriptor] of before) {
      Reflect.deleteProperty(globalThis, name)
      if (descriptor) Object.defineProperty(globalThis, name, descriptor)
    }
  }
}

test('says what is missing: a secure address, the Home Screen on iPhone, push messages, or the permission', () => {
  assert.is(supportIn({ secure: false }), 'insecure')
  assert.is(supportIn({ push: false }, IPHONE), 'install')
  assert.is(supportIn({ push: false }), 'unsupported')
  assert.is(supportIn({ permission: 'denied' }), 'blocked')
  assert.is(supportIn({ permission: 'granted' }), 'ok')
  assert.is(supportIn({}, IPHONE), 'ok')
})

test.run()
