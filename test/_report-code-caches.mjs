/** For `--import`: prints of each V8 code cache whether it was used. */
import vm from 'node:vm'

const { Script } = vm
vm.Script = class extends Script {
  constructor(code, options) {
    super(code, options)
    if (options?.cachedData)
      console.log(`code cache ${this.cachedDataRejected ? 'rejected' : 'used'}`)
  }
}
