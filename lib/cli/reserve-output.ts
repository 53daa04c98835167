/** Keeps standard output for the messages of a protocol: one other line would break the connection. */
import { Writable } from 'node:stream'
import { maskLeavingBytes } from '../base/redact/redact.ts'

/** A file that is written in the person's editor, as it is on the disk. */
const FILE = /"method":"fs\/write_text_file"/

const masked = (message: Buffer): Buffer =>
  FILE.test(message.toString('latin1', 0, 120)) ? message : maskLeavingBytes(message)

/**
 * From now on, `console.log` and every other writer to standard output write to standard error. Known secrets are masked in the
 * messages.
 */
export const reserveOutput = (): Writable => {
  const { stdout, stderr } = process
  const write = stdout.write.bind(stdout)
  stdout.write = stderr.write.bind(stderr)
  const output = new Writable({
    // Resolves when the pipe can take more, so that a client that reads slowly is not flooded.
    write: (chunk: Buffer, _encoding, done) => void write(masked(chunk), done),
  })
  // A client that is gone; the reader notices as well.
  stdout.on('error', error => output.destroy(error))
  output.on('error', () => undefined)
  return output
}
