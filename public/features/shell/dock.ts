/** The terminal dock: whether it is open, and its height. One of the page: it shows the shells of the folder whose chat is shown. */
import { type Signal, signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'

export const DOCK_MIN = 120
export const DOCK_MAX = 1_200
const DOCK_DEFAULT = 300

const clamp = (px: number): number => Math.round(Math.min(DOCK_MAX, Math.max(DOCK_MIN, px)))

export class Dock {
  readonly #device: Platform['device']
  readonly isOpen: Signal<boolean>
  readonly height: Signal<number>
  /** The person asked for a shell: the dock opens one where there is none. Merely being open starts none. */
  readonly isAsked = signal(false)

  constructor({ device }: Pick<Platform, 'device'>) {
    this.#device = device
    this.isOpen = signal(device.read('dock', false))
    this.height = signal(clamp(device.read('dock-height', DOCK_DEFAULT)))
  }

  readonly show = (): void => {
    this.isAsked.value = true
    this.#open(true)
  }

  readonly hide = (): void => {
    this.isAsked.value = false
    this.#open(false)
  }

  readonly toggle = (): void => (this.isOpen.value ? this.hide() : this.show())

  readonly resize = (px: number): void => {
    this.height.value = clamp(px)
    this.#device.write('dock-height', this.height.value)
  }

  readonly resetHeight = (): void => this.resize(DOCK_DEFAULT)

  #open(isOpen: boolean): void {
    this.isOpen.value = isOpen
    this.#device.write('dock', isOpen)
  }
}
