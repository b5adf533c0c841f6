// Does training still keep no memory? On each change, and every night with more steps.
pipeline {
  agent { docker { image 'python:3.12' } }
  triggers { cron('H 3 * * *') }
  environment {
    // What pip installs: stepleak's name, a wheel of your own, or a checkout of its sources.
    STEPLEAK = 'stepleak'
  }
  stages {
    stage('set up') {
      steps {
        sh 'python -m venv .venv && .venv/bin/pip install torch numpy "$STEPLEAK"'
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
