/** What a SOCKS5 client (RFC 1928) says before its connection. */
import type { Socket } from 'node:net'
import type { NetworkTarget } from '../../agent/tool-services.ts'
import { Refusal } from './network-opener.ts'
import { readTarget } from '../../base/host-pattern.ts'

/** Reads `size` bytes and leaves the others. Rejects when the client is gone. */
export const take = async (socket: Socket, size: number): Promise<Buffer> => {
  // Reading no bytes would wait for some.
  if (size === 0) return Buffer.alloc(0)
  return new Promise((resolve, reject) => {
    const look = () => {
      const bytes: Buffer | null = socket.read(size)
      if (bytes?.length === size) settle(() => resolve(bytes))
      else if (bytes) gone()
    }
    const gone = () => settle(() => reject(new Error('The client is gone.')))
    const settle = (done: () => void) => {
      socket.off('readable', look).off('end', gone).off('close', gone)
      done()
    }
    socket.on('readable', look).on('end', gone).on('close', gone)
    look()
  })
}

export const SOCKS = 5
export const toReply = (code: number) => Buffer.from([SOCKS, code, 0, 1, 0, 0, 0, 0, 0, 0])

/** The destination that a client asks for, from after its first byte. */
export const readSocks = async (socket: Socket): Promise<NetworkTarget> => {
  const methods = await take(socket, (await take(socket, 1)).readUInt8())
  if (!methods.includes(0)) {
    socket.end(Buffer.from([SOCKS, 0xff]))
    throw new Error('The client wants to sign in.')
  }
  socket.write(Buffer.from([SOCKS, 0]))
  const [version, command, , kind] = await take(socket, 4)
  if (version !== SOCKS || command !== 1) throw new Refusal('Only CONNECT is supported.', 405, 7)
  const readHost = async (): Promise<string> => {
    if (kind === 1) return (await take(socket, 4)).join('.')
    if (kind === 4) {
      const bytes = await take(socket, 16)
      return `[${Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(at * 2).toString(16)).join(':')}]`
    }
    if (kind !== 3) throw new Refusal('This kind of address is not supported.', 400, 8)
    return (await take(socket, (await take(socket, 1)).readUInt8())).toString('latin1')
  }
  const host = await readHost()
  const target = readTarget(`${host}:${(await take(socket, 2)).readUInt16BE()}`)
  if (!target) throw new Refusal('This is no address.', 400, 1)
  return target
}
