// Does training still keep no memory? On each change, and every night with more steps.
pipeline {
  agent { docker { image 'python:3.12' } }
  triggers { cron('H 3 * * *') }
  environment {
    // What pip installs: a checkout of stepleak's sources, as here, or a wheel of your own. No registry has it.
    STEPLEAK = './third_party/stepleak'
  }
  stages {
    stage('set up') {
      steps {
        // torch first: stepleak is built against the one that is there.
        sh 'python -m venv .venv && .venv/bin/pip install torch numpy'
        sh '.venv/bin/pip install "$STEPLEAK"'
      }
    }
    stage('change') {
      when { not { triggeredBy 'TimerTrigger' } }
      steps {
        sh '.venv/bin/stepleak gate --device cpu --junit stepleak.xml'
      }
    }
    stage('night') {
      when { triggeredBy 'TimerTrigger' }
      matrix {
        axes {
          axis {
            name 'SHARD'
            values '1', '2', '3', '4'
          }
        }
        stages {
          stage('shard') {
            steps {
              sh '.venv/bin/stepleak gate --device cpu --effort nightly --shard "$SHARD/4" --junit "stepleak-$SHARD.xml"'
            }
          }
        }
      }
    }
  }
  post {
    always {
      junit testResults: 'stepleak*.xml', allowEmptyResults: false
    }
  }
}
